"""Of the tables: what goes in and what comes out."""
