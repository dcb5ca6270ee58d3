"""From a function to a graph: specs, equations as functions, families of shapes, other sizes."""
