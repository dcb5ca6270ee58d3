"""Why a rule is wrong: mistakes, at points and then with a proof; what is missing, and a script that shows it."""
