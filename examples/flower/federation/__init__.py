"""A federation of sites that train one classifier."""
