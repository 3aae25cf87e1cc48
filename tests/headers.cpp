// Stands for the headers that every test reads, which are precompiled with it.
