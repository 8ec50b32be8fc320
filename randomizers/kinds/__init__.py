"""The kinds of randomizers, one file each: settings, targets, draw and meaning."""
