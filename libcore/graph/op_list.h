/* graph/op_list.h - the operations of a graph, one row each:
 *
 *   OP(name, member, kind, sources, weights, cols, over)
 *       INT(member, field) NUM(member, field)    parameters, in struct `member` of a node
 *       REQ(condition, "what must hold")         graph_check refuses a node that breaks it
 *   END(member)
 *
 * kind  ELEMENT    row i of the value depends on row i of the sources alone
 *       PRODUCT    rows times weights
 *       ATTENTION  rows times the K and V of their sequences
 *       STATE      reads and changes a state that a sequence keeps from step to step
 *       MOVE       copies rows: from tables, to the cache, between parts of the graph
 *       It selects the cost of a node (cost.c) and how a backend runs it (cpu/plan.c, cpu/run.c).
 * cols  GIVEN by the caller, LIKE src0, HEADS heads * dv, PAIRS 2 * used, NONE: no value
 * over  1: the value may overwrite src0
 *
 * In formulas a, b, c ... are the sources in order and y is the value.  A weight of -1 is left out.
 * mul (0: 1) means that a parameter of 0 stands for 1.  In conditions n is the node, SRC(i) and
 * COLS(i) are source i and its columns, HAS_W(i) is true if weight i is given, and OR1(x) is x or,
 * if x is 0, 1.
 *
 * A macro that is not defined before the list expands to nothing.  The list undefines them all. */
#ifndef OP
#define OP(name, member, kind, n_src, n_w, cols, over)
#endif
#ifndef INT
#define INT(member, field)
#endif
#ifndef NUM
#define NUM(member, field)
#endif
#ifndef REQ
#define REQ(condition, what)
#endif
#ifndef END
#define END(member)
#endif

/* y = w0[id] * mul (0: 1), id by enum graph_index: the row's token id, position or segment */
OP(EMBED, embed, MOVE, 0, 1, GIVEN, 0)
	INT(embed, index) NUM(embed, mul)
	REQ(HAS_W(0), "w0 must be given")
END(embed)

/* RMSNorm of each group of cols / groups columns: y = a / sqrt(mean(a^2) + eps) * w0.
 * w0 [cols / groups] or, if each group has a gain of its own, [groups][cols / groups]
 * centred 1: LayerNorm, y = (a - mean(a)) / sqrt(var(a) + eps) * w0 + w1
 * first > 0: normalise columns 0 ... first - 1 and copy the others */
OP(NORM, norm, ELEMENT, 1, 2, LIKE, 1)
	INT(norm, centred) INT(norm, groups) INT(norm, first) NUM(norm, eps)
	REQ(!HAS_W(1) || (n->norm.centred && HAS_W(0)), "a bias needs centred 1 and a gain")
	REQ(n->norm.groups >= 1 && n->cols % n->norm.groups == 0, "groups must divide the columns")
	REQ(n->norm.first >= 0 && n->norm.first <= n->cols, "first must be at most the columns")
	REQ(!n->norm.first || n->norm.groups == 1, "first needs groups 1")
END(norm)

/* y = (a w0^T) * mul (0: 1) + w1; cap > 0: then y = cap * tanh(y / cap) */
OP(MM, mm, PRODUCT, 1, 2, GIVEN, 0)
	NUM(mm, mul) NUM(mm, cap)
	REQ(HAS_W(0), "w0 must be given")
END(mm)

/* One product for each of `heads` heads: y_h = a_h[0 .. k) w0_h^T, then the remaining columns of
 * a_h, copied. w0 [heads][n][k] */
OP(HEAD_MM, head_mm, PRODUCT, 1, 1, GIVEN, 0)
	INT(head_mm, heads)
	REQ(HAS_W(0), "w0 must be given")
	REQ(n->head_mm.heads >= 1, "heads must be positive")
	REQ(COLS(0) % n->head_mm.heads == 0 && n->cols % n->head_mm.heads == 0,
	    "heads must divide the columns")
END(head_mm)

/* RoPE: in each head of dk columns rotate the columns from ... from + rot - 1 by frequency table
 * `table`. halves 0: columns 2i and 2i + 1 are a pair; 1: columns i and i + rot / 2 */
OP(ROPE, rope, ELEMENT, 1, 0, LIKE, 1)
	INT(rope, heads) INT(rope, dk) INT(rope, from) INT(rope, rot) INT(rope, halves)
	INT(rope, table)
	REQ((int64_t)n->rope.heads * n->rope.dk == n->cols, "heads * dk must be the columns")
	REQ(n->rope.rot >= 2 && n->rope.rot % 2 == 0, "the number of rotated columns must be even")
	REQ(n->rope.from >= 0 && n->rope.from <= n->rope.dk &&
	    n->rope.rot <= n->rope.dk - n->rope.from,
	    "rotated columns must be within a head")
END(rope)

/* Store k = a (heads of dk) and v = b (heads of dv) in the layer's cache.  mla 1: b is a, the
 * compressed KV of MLA; v is the first dv columns of k and is not stored again. */
OP(KV_PUT, kv_put, MOVE, 2, 0, NONE, 0)
	INT(kv_put, mla) INT(kv_put, layer) INT(kv_put, heads) INT(kv_put, dk) INT(kv_put, dv)
	REQ(!n->kv_put.mla ||
	    (n->src[1] == n->src[0] && n->kv_put.heads == 1 && n->kv_put.dk == COLS(0)),
	    "mla needs src1 = src0, one head, and dk equal to the columns")
	REQ(!n->kv_put.mla || (n->kv_put.dv >= 1 && n->kv_put.dv <= n->kv_put.dk),
	    "mla: dv must be 1 to dk")
	REQ(n->kv_put.mla || (int64_t)n->kv_put.heads * n->kv_put.dk == COLS(0),
	    "heads * dk must be the columns of src0")
	REQ(n->kv_put.mla || (int64_t)n->kv_put.heads * n->kv_put.dv == COLS(1),
	    "heads * dv must be the columns of src1")
END(kv_put)

/* y = softmax(f(q k^T * scale)) v, q = a, over the layer's cache after b, its KV_PUT. f(s) = s, or
 * cap * tanh(s / cap) if cap > 0.  w0 [heads]: attention sinks, in the softmax one more score a
 * head, without a value.  A row at position p attends to positions j <= p + later of its sequence;
 * those after p must be rows of the same step.  window > 0: only j > p - window; with chunked 1
 * only j >= p / window * window, the row's own chunk. */
OP(ATTN, attn, ATTENTION, 2, 1, HEADS, 0)
	INT(attn, layer) INT(attn, heads) INT(attn, kv_heads) INT(attn, dk) INT(attn, dv)
	INT(attn, window) INT(attn, chunked) INT(attn, later) NUM(attn, scale) NUM(attn, cap)
	REQ(SRC(1)->op == GRAPH_KV_PUT && SRC(1)->kv_put.layer == n->attn.layer,
	    "src1 must be the KV_PUT of its layer")
	REQ(!n->attn.chunked || n->attn.window >= 1, "chunked 1 needs a window")
	REQ(n->attn.later >= 0 && n->attn.later <= 1 << 30, "later must be 0 to 2^30")
	REQ((int64_t)n->attn.heads * n->attn.dk == COLS(0),
	    "heads * dk must be the columns of src0")
	REQ(n->attn.kv_heads >= 1 && n->attn.heads % n->attn.kv_heads == 0,
	    "kv_heads must divide heads")
	REQ(n->attn.dk == SRC(1)->kv_put.dk && n->attn.dv == SRC(1)->kv_put.dv,
	    "dk and dv must be those of the KV_PUT")
END(attn)

/* y = a + mul (0: 1) * b.  pieces > 1: b is one piece wide and is added to the pieces `from`,
 * from + 1 ... of a. */
OP(ADD, add, ELEMENT, 2, 0, LIKE, 1)
	INT(add, pieces) INT(add, from) NUM(add, mul)
	REQ(n->add.pieces >= 0 && COLS(0) == OR1(n->add.pieces) * COLS(1),
	    "sources must be of equal width")
	REQ(n->add.from >= 0 && n->add.from < OR1(n->add.pieces),
	    "from must be the number of a piece")
END(add)

/* y = silu(a) * b */
OP(SILU_MUL, silu_mul, ELEMENT, 2, 0, LIKE, 1)
	REQ(COLS(0) == COLS(1), "sources must be of equal width")
END(silu_mul)

/* y = gelu(a) * b, the tanh approximation; erf 1: the exact gelu */
OP(GELU_MUL, gelu_mul, ELEMENT, 2, 0, LIKE, 1)
	INT(gelu_mul, erf)
	REQ(COLS(0) == COLS(1), "sources must be of equal width")
END(gelu_mul)

/* y = gelu(a), exact */
OP(GELU, gelu, ELEMENT, 1, 0, LIKE, 1)
END(gelu)

/* y = a * sigmoid(b); no_sigmoid 1: y = a * b.  b is as wide as a, or one column for all of a. */
OP(GATE, gate, ELEMENT, 2, 0, LIKE, 1)
	INT(gate, no_sigmoid)
	REQ(COLS(1) == 1 || COLS(1) == COLS(0),
	    "sources must be of equal width, or src1 of one column")
END(gate)

/* Attention temperature (Llama 4): y = a * (1 + beta * ln(1 + floor((position + from) /
 * length))) */
OP(ATTN_TEMP, attn_temp, ELEMENT, 1, 0, LIKE, 1)
	INT(attn_temp, length) INT(attn_temp, from) NUM(attn_temp, beta)
	REQ(n->attn_temp.length >= 1, "length must be positive")
	REQ(n->attn_temp.from >= 0, "from must not be negative")
END(attn_temp)

/* y = a * mul * w0, w0 [1] or [cols] */
OP(SCALE, scale, ELEMENT, 1, 1, LIKE, 1)
	NUM(scale, mul)
END(scale)

/* Gaussian top-k (Gemma 3n): y = max(0, a - (mean(a) + mul * std(a))), over each row */
OP(GAUSS_TOPK, gauss_topk, ELEMENT, 1, 0, LIKE, 1)
	NUM(gauss_topk, mul)
END(gauss_topk)

/* From each of `pieces` equal pieces of a, take cols / times / pieces columns from column `from`
 * of the piece on. Repeat the whole `times` (0: 1) times. */
OP(SLICE, slice, ELEMENT, 1, 0, GIVEN, 0)
	INT(slice, pieces) INT(slice, from) INT(slice, times)
	REQ(n->slice.times >= 0 && n->cols % OR1(n->slice.times) == 0,
	    "times must divide the columns")
	REQ(n->slice.pieces >= 1 && COLS(0) % n->slice.pieces == 0 &&
	    n->cols / OR1(n->slice.times) % n->slice.pieces == 0, "pieces must divide the columns")
	REQ(n->slice.from >= 0 && n->slice.from + n->cols / OR1(n->slice.times) / n->slice.pieces <=
	    COLS(0) / n->slice.pieces, "a slice must be within its piece")
END(slice)

/* y[i] = a[w0[i]], w0 i32 [cols], a permutation */
OP(PERMUTE, permute, ELEMENT, 1, 1, LIKE, 0)
	REQ(HAS_W(0), "w0 must be given")
END(permute)

/* AltUp mix (Gemma 3n): y_i = a_i + sum over j of (c[i][j] + plus) * b_j, for the `pieces`
 * pieces i of a and the `by` pieces j of b, all of one width; c [pieces][by] */
OP(ALTUP_MIX, altup_mix, ELEMENT, 3, 0, LIKE, 0)
	INT(altup_mix, pieces) INT(altup_mix, by) NUM(altup_mix, plus)
	REQ(n->altup_mix.pieces >= 1 && n->cols % n->altup_mix.pieces == 0,
	    "pieces must divide the columns")
	REQ(n->altup_mix.by >= 1 &&
	    COLS(1) == (int64_t)(n->cols / n->altup_mix.pieces) * n->altup_mix.by,
	    "src1 must be `by` pieces wide")
	REQ(COLS(2) == (int64_t)n->altup_mix.pieces * n->altup_mix.by,
	    "src2 must have pieces * by columns")
END(altup_mix)

/* AltUp rescale (Gemma 3n): y = a, then each piece p of b (as wide as a) with the magnitude of
 * a: p * sqrt(ms(a) / max(ms(p), least)), ms(x) = mean(x^2).  mean 1: y = (a + the rescaled
 * pieces) / (1 + pieces). */
OP(ALTUP_RESCALE, altup_rescale, ELEMENT, 2, 0, GIVEN, 0)
	INT(altup_rescale, mean) NUM(altup_rescale, least)
	REQ(COLS(1) % COLS(0) == 0, "the columns of src0 must divide those of src1")
	REQ(n->cols == COLS(0) + (n->altup_rescale.mean ? 0 : COLS(1)),
	    "the columns must be those of the pieces")
END(altup_rescale)

/* Causal conv1d, depthwise, over the rows of a sequence:
 *   y[p] = silu(sum over t < taps of w0[col][t] * a[p - taps + 1 + t] + w1[col])
 * Rows before the first are 0.  no_silu 1: without the silu.  The last taps - 1 rows are kept in
 * the layer's state, from float `at` on.  w0 [cols][taps] */
OP(CONV1D, conv1d, STATE, 1, 2, LIKE, 0)
	INT(conv1d, layer) INT(conv1d, at) INT(conv1d, taps) INT(conv1d, no_silu)
	REQ(HAS_W(0), "w0 must be given")
	REQ(n->conv1d.taps >= 1, "taps must be positive")
	REQ(n->conv1d.at >= 0, "at must not be negative")
END(conv1d)

/* Gated delta rule (Gated DeltaNet), S [dk][dv] the state of a head, kept in the layer's state
 * from float `at` on:
 *   S' = g S + k (beta (v - g S^T k))^T    y = scale S'^T q + w2[head] v
 * q = a and k = b (k_heads heads of dk), v = c (heads of dv), g = exp(w0[head] * dt), beta =
 * sigmoid(d[head]), dt = softplus(e[head] + w1[head]).  ssm 1: SSM scan (Mamba-2), S' = g S + k
 * (dt v)^T; d is e. Head h uses q and k of head h / (heads / k_heads); tiled 1: of head h %
 * k_heads. */
OP(GATED_DELTA, gated_delta, STATE, 5, 3, GIVEN, 0)
	INT(gated_delta, ssm) INT(gated_delta, layer) INT(gated_delta, at) INT(gated_delta, heads)
	INT(gated_delta, k_heads) INT(gated_delta, dk) INT(gated_delta, dv) INT(gated_delta, tiled)
	NUM(gated_delta, scale)
	REQ(n->gated_delta.k_heads >= 1 && n->gated_delta.heads >= 1,
	    "heads and k_heads must be positive")
	REQ(n->gated_delta.heads % n->gated_delta.k_heads == 0, "k_heads must divide heads")
	REQ(n->gated_delta.dk >= 1 && n->gated_delta.dv >= 1, "dk and dv must be positive")
	REQ((int64_t)n->gated_delta.heads * n->gated_delta.dv == n->cols,
	    "heads * dv must be the columns")
	REQ((int64_t)n->gated_delta.k_heads * n->gated_delta.dk == COLS(0) && COLS(1) == COLS(0),
	    "k_heads * dk must be the columns of src0 and src1")
	REQ(COLS(2) == n->cols, "src2 must have heads * dv columns")
	REQ(COLS(3) == n->gated_delta.heads && COLS(4) == COLS(3),
	    "src3 and src4 must have a column a head")
	REQ(!n->gated_delta.ssm || n->src[3] == n->src[4], "ssm 1 needs src3 = src4")
	REQ(HAS_W(0) && HAS_W(1), "w0 and w1 must be given")
	REQ(n->gated_delta.at >= 0, "at must not be negative")
END(gated_delta)

/* y = the rows that another part of the graph sent over `edge` in this step (split.h) */
OP(RECV, recv, MOVE, 0, 0, GIVEN, 0)
	INT(recv, edge)
	REQ(n->recv.edge >= 0, "edge must not be negative")
END(recv)

/* Send a to other parts of the graph over `edge`. */
OP(SEND, send, MOVE, 1, 0, NONE, 0)
	INT(send, edge)
	REQ(n->send.edge >= 0, "edge must not be negative")
END(send)

/* y = the output rows of a: those with logits or hidden states as results */
OP(GET_ROWS, get_rows, MOVE, 1, 0, LIKE, 0)
END(get_rows)

/* MoE router.  a: the logits of the experts, p = softmax(a) or, if sigmoid 1, sigmoid(a).  Choose
 * the `used` experts with the highest p + w0, ties to the lower id.  groups > 0: only from the
 * groups_used best of `groups` groups; a group's score is the sum of its group_best best experts.
 * y = ids [used], weights [used]: p / (norm 1: sum of the chosen p) * mul (0: 1) * w1[id] */
OP(ROUTE, route, ELEMENT, 1, 2, PAIRS, 0)
	INT(route, used) INT(route, sigmoid) INT(route, norm) INT(route, groups)
	INT(route, groups_used) INT(route, group_best) NUM(route, mul)
	REQ(n->route.used >= 1 && n->route.used <= COLS(0),
	    "used must be 1 to the number of experts")
	REQ(n->route.groups >= 0 && COLS(0) % OR1(n->route.groups) == 0,
	    "groups must divide the experts")
	REQ(!n->route.groups ||
	    (n->route.groups_used >= 1 && n->route.groups_used <= n->route.groups),
	    "groups_used must be 1 to groups")
	REQ(!n->route.groups || (n->route.group_best >= 1 &&
	                         n->route.group_best <= COLS(0) / n->route.groups),
	    "group_best must be 1 to the experts of a group")
	REQ(!n->route.groups || n->route.used <= COLS(0) / n->route.groups * n->route.groups_used,
	    "used must be at most the experts of the groups that are used")
END(route)

/* Mixture of experts: y = sum, in the order of rank, of weight_e * (act(g, u) w2_e^T + w5_e) over
 * the experts e chosen by b, a ROUTE or a RECV of one; g = a w0_e^T + w3_e and u = a w1_e^T + w4_e,
 * ff wide; act by enum graph_act.  Weights are [experts][rows][cols], biases [experts][n].
 * weight_before_ffn 1: weight_e multiplies g and u instead of the result. */
OP(MOE, moe, PRODUCT, 2, 6, LIKE, 0)
	INT(moe, used) INT(moe, weight_before_ffn) INT(moe, ff) INT(moe, act) NUM(moe, limit)
	REQ(!n->moe.weight_before_ffn || (!HAS_W(3) && !HAS_W(4)),
	    "weight_before_ffn 1 allows no biases w3 and w4")
	REQ(SRC(1)->op == GRAPH_RECV ? SRC(1)->cols == 2 * n->moe.used
	    : SRC(1)->op == GRAPH_ROUTE && SRC(1)->route.used == n->moe.used,
	    "src1 must be a ROUTE of as many experts")
END(moe)

#undef OP
#undef INT
#undef NUM
#undef REQ
#undef END
