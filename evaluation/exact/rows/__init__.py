"""The positions of a certificate: what makes one canonical, and which of them differ in names only."""
