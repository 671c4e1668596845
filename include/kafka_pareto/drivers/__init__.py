"""The drivers: what loads a system and measures it. Each is a folder here; the core names none of them.

The library opens a driver's folder by three doors:

- `declaration.DRIVER`: what it measures, and the words for it;
- `studies.STUDIES`: the class that checks its study files, by kind;
- `runtime.RUNTIME`: what runs its repetitions.

`common` is no driver: it holds what several of them use.
"""
