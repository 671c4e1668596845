"""The smallest driver: it runs `sleep` for as long as its only factor says. docs/development.md shows all of it."""
