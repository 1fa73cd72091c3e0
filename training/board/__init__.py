"""Learning to play Welfare Diplomacy: PPO on RLlib's Learner over a runner of our own."""
