"""Joints, masses, drives and collision proxies as UsdPhysics."""
