"""A run: what it is asked to do and may do, whom it tells, and what it does, from the files to the end of an apply.

    operation, voice, supervision      what is asked, who hears of it, who watches over it
    loading, rules, connection/        the project, whose rules judge it; the service, the state, the lease
    opened, stages, guards, applying   one run: its plan, what refuses it, its apply
    saved/, drift/, access, health …   what people ask of a run

No command line and no terminal: every command, a fleet, agents, rehearsals and tests of projects begin here.
"""
