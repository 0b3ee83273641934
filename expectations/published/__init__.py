"""Published folders: their claims, and the verifier that checks them."""
