"""What scenes are made from."""
