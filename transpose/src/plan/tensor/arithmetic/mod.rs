//! Planning moves that compute on the way.
//!
//! | file | what it is about |
//! |---|---|
//! | `plan` | the plan that programs hold, and running it |
//! | `work` | what plans do, and what recent ones did |
//! | `normalizing` | the plan that holds a table of channels |
//! | `problem` | what a plan is made for |
//! | `part` | a launch of a move, and its entry point |
//! | `operands` | the move in canonical form: axes of up to three memories |
//! | `matrices` | the planner of `compute_micro`, `compute_rows`, `compute_rows_large`, `compute_rows_by_pairs`, `compute_rows_beside`, `compute_sums` and `compute_sum_rows`, for matrices that are transposed |
//! | `wanted` | which ways are wanted, and found |
//! | `ways` | the ways to go of one pass, the best first |
//! | `costs` | what ways of one pass cost |
//! | `channel_places` | which channel an element has by where it lies |
//! | `by_channel` | the ways of moves whose channels have a factor and a summand each |
//! | `channel_costs` | what the ways of `by_channel` cost |
//! | `passes` | the order of a sum's operands, and sums in two passes |
//! | `through` | a move, and a pass that computes in order |
//! | `units` | the planner of `compute_units`, which serves every move |
//! | `lines` | the planner of `compute_lines` and `compute_lines_by_pairs`, for rows that follow each other in the destination, wherever they start |
//! | `slid` | the planner of `compute_slid`, for windows whose rows start on units of the destination, and anywhere in the source |
//! | `runs` | the planner of `compute_runs` and `compute_runs_by_pairs`, for what lies together in all memories, in stretches that start anywhere |
//! | `channels` | the planner of `compute_channels` and `compute_wide_channels`, for what stays in its order and has a factor and a summand for each channel |
//! | `interleaved` | the planner of `compute_interleaved2` and its like, for two, three and four channels |
//! | `pixels` | the planner of `compute_pixels`, for few channels |
//! | `boxes` | the planner of `compute_boxes` and `compute_pieces`, for short axes and any order |
//! | `boxes_beside` | the planner of `compute_boxes_beside`, for sums along short axes and in any order |
//! | `tiles` | the planner of `compute_tiles`, and of `compute_tiles_by_pairs`, for moves whose fastest axis changes |

mod boxes;
mod boxes_beside;
mod by_channel;
mod channel_costs;
mod channel_places;
mod channels;
mod costs;
mod interleaved;
mod lines;
mod matrices;
mod normalizing;
mod operands;
mod part;
mod passes;
mod pixels;
mod plan;
mod problem;
mod runs;
mod slid;
mod through;
mod tiles;
mod units;
mod wanted;
mod ways;
mod work;

pub use normalizing::NormalizingPlan;
pub use plan::ArithmeticPlan;
