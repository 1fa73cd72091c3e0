"""What is measured: self-play, and what coalitions gain by leaving a profile."""
