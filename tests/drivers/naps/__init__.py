"""The smallest driver: a command that sleeps, for as long as its one factor says. docs/development.md shows it."""
