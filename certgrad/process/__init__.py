"""What a process and its threads have: what loads when, how many processors, who takes turns at what."""
