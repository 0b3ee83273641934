"""Tables cut into blocks that are grouped one by one."""
