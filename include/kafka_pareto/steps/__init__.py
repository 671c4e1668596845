"""One module per step: reads what earlier steps wrote, calls the library, writes one named artifact."""
