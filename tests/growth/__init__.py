"""Work grows with what there is to do, and no faster: operations are counted, so that a busy machine changes nothing."""
