"""Public folder, register and candidates: files are written completely or not at all."""
