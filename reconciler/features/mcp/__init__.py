"""The server for agents: it reads, and applies nothing. Requires the extra mcp, and is imported by `reconciler mcp` only.

client --JSON-RPC on stdin--> server --> tools: the table of what can be called
                                |           |
                                |           v  in a thread, with a CallVoice that prints nothing
                                |         the functions that the commands call, with a client that sends only GET
                                |           |
                                |           v  BriefParts: lines, the worst first
       <--at most 8 KB----------+--- answers: fenced, cut, with a handle to the rest
"""
