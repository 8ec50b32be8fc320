"""Files of MuJoCo models, looked at before MuJoCo reads them."""
