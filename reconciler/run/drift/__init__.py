"""What people do about drift: accept it into the files, propose that as a branch or a request, put a group back."""
