"""The positions of a certificate: checks for canonical form, and keys that are equal up to names."""
