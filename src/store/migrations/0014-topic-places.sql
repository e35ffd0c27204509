-- JSON: where the topic's passage is in each of the last texts of its page. Checkouts of one workspace may be on
-- different branches, and each has its own text.
ALTER TABLE topics ADD COLUMN places TEXT NOT NULL DEFAULT '[]';
