"""An audit as a page and as text."""
