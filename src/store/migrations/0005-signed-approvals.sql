-- The approver's signature: the contents of a signed commit object whose message names the proposal and its content.
ALTER TABLE proposals ADD COLUMN signature TEXT;
