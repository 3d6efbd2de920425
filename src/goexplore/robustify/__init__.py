"""Phase 2: demonstrations into a policy that plays the real, stochastic game (paper section 2.2)."""
