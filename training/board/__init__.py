"""Learning to play Welfare Diplomacy: PPO with RLlib's Learner and our own EnvRunner."""
