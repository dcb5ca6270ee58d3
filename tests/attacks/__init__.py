"""Wrong rules written by people who did not see the kernel, by class of attack. Through no door is one proved."""
