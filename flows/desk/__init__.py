"""The desk: a small web application where people look at releases and decide."""
