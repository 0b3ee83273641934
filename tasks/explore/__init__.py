"""Trying methods, paths and k on one table, without publishing anything."""
