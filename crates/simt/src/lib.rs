//! Executes PTX on the CPU, counts its memory transactions, finds its races.
