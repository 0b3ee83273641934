"""A YAML file that is small until its aliases are replaced."""


def bomb(pattern: str, width: int = 9, depth: int = 9) -> bytes:
    """Write aliases of aliases, which stand for billions of values."""
    lines = ["v0: &v0 {a: 1}"]
    for level in range(depth):
        parts = ", ".join([f"*v{level}"] * width)
        lines.append(f"v{level + 1}: &v{level + 1} {pattern % parts}")
    return "\n".join([*lines, f"release: *v{depth}", f"source: *v{depth}"]).encode()
