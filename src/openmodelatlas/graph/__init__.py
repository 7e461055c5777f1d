"""The atlas graph: nodes, hierarchy, data flow, folding, plumbing, addresses, invariants."""
