"""What is done with a rule's certificate: checked a second time, printed for Coq, shown on a page."""
