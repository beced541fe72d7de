"""`chunk-assets doctor`: what a run would need, looked at before it is needed.

Each file looks at one thing and returns findings; none of them changes anything.
"""
