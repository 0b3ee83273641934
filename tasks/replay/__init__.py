"""Replays: releases past periods again by several choices, in memory, and publishes nothing."""
