/* sample/param_list.h - the sampling numbers, one row each, in the order of records and of --help.
 *
 * PARAM(field, type, json, option, arg, range, http, least, zero, usual, key, help)
 *   field   of struct infer_sample_opts: a float for REAL, an int32_t for WHOLE
 *   json    its name in requests and records
 *   option  its name on the command line, arg its value there; NULL: there is none
 *   range   FROM(lo, hi), or ABOVE(lo, hi) if lo itself is out of range: for options, our own
 *           requests, models and callers of the library
 *   http    the range in the APIs of other servers, if it is smaller; else SAME
 *   least   all values from lo to `least` mean the same
 *   zero    the value that an unset field (0) stands for: off, if the stage can be turned off
 *   usual   the default of programs, if neither an option nor the model sets it; shown by --help
 *   key     the model's recommendation is general.sampling.KEY; NULL: there is none */
PARAM(temp, REAL, "temperature", "temp", "X", FROM(0, 100), FROM(0, 2), 0, 0, 0.8, "temp",
      "temperature; 0 takes the likeliest token")
PARAM(dynatemp_range, REAL, "dynatemp_range", "dynatemp-range", "X", FROM(0, 100), SAME, 0, 0, 0, NULL,
      "temperature by entropy, up to X below and above; 0: off")
PARAM(dynatemp_exp, REAL, "dynatemp_exponent", "dynatemp-exp", "X", ABOVE(0, 100), SAME, 0, 1, 1, NULL,
      "how that temperature follows the entropy")
PARAM(top_k, WHOLE, "top_k", "top-k", "N", FROM(-1, INT32_MAX), SAME, 0, 0, 40, "top_k",
      "keep the N likeliest tokens; 0: all")
PARAM(top_p, REAL, "top_p", "top-p", "X", ABOVE(0, 1), SAME, 0, 1, 0.95, "top_p",
      "keep the least set of mass X; 1: all")
PARAM(min_p, REAL, "min_p", "min-p", "X", FROM(0, 1), SAME, 0, 0, 0.05, "min_p",
      "keep tokens at least X times as likely as the likeliest")
PARAM(typical, REAL, "typical_p", "typical", "X", ABOVE(0, 1), SAME, 0, 1, 1, NULL,
      "keep the locally typical set of mass X; 1: off")
PARAM(top_n_sigma, REAL, "top_n_sigma", "top-n-sigma", "X", FROM(-1, 1000), SAME, 0, 0, 0, NULL,
      "keep logits within X deviations of the greatest; 0: off")
PARAM(xtc_probability, REAL, "xtc_probability", "xtc-probability", "X", FROM(0, 1), SAME, 0, 0, 0, "xtc_probability",
      "chance to drop all likely tokens but the last; 0: off")
PARAM(xtc_threshold, REAL, "xtc_threshold", "xtc-threshold", "X", FROM(0, 1), SAME, 0, 0, 0.1, "xtc_threshold",
      "tokens likely in that sense; above 0.5: off")
PARAM(repeat, REAL, "repeat_penalty", "repeat-penalty", "X", ABOVE(0, 100), SAME, 0, 1, 1, "penalty_repeat",
      "divide the logits of tokens that were there by X; 1: off")
PARAM(repeat_window, WHOLE, "repeat_last_n", "repeat-last-n", "N", FROM(-1, INT32_MAX), SAME, -1, 64, 64, "penalty_last_n",
      "how far back penalties look; 0: off, -1: all")
PARAM(presence, REAL, "presence_penalty", "presence-penalty", "X", FROM(-100, 100), FROM(-2, 2), -100, 0, 0, NULL,
      "subtract X from their logits once; 0: off")
PARAM(frequency, REAL, "frequency_penalty", "frequency-penalty", "X", FROM(-100, 100), FROM(-2, 2), -100, 0, 0, NULL,
      "subtract X for each time; 0: off")
PARAM(dry_multiplier, REAL, "dry_multiplier", "dry-multiplier", "X", FROM(0, 100), SAME, 0, 0, 0, NULL,
      "penalty on extending a repeated run; 0: off")
PARAM(dry_base, REAL, "dry_base", "dry-base", "X", FROM(1, 100), SAME, 1, 1.75, 1.75, NULL,
      "its growth with the length of the run")
PARAM(dry_allowed_length, WHOLE, "dry_allowed_length", "dry-allowed-length", "N", FROM(1, INT32_MAX), SAME, 1, 2, 2, NULL,
      "longest run that costs nothing more")
PARAM(dry_window, WHOLE, "dry_penalty_last_n", "dry-penalty-last-n", "N", FROM(-1, INT32_MAX), SAME, -1, -1, -1, NULL,
      "how far back it looks; 0: off, -1: all")
PARAM(mirostat, WHOLE, "mirostat", "mirostat", "N", FROM(0, 2), SAME, 0, 0, 0, "mirostat",
      "steer the surprise, version 1 or 2, in place of all that cuts; 0: off")
PARAM(mirostat_tau, REAL, "mirostat_tau", "mirostat-tau", "X", ABOVE(0, 100), SAME, 0, 5, 5, "mirostat_tau",
      "the surprise aimed at, in bits")
PARAM(mirostat_eta, REAL, "mirostat_eta", "mirostat-eta", "X", ABOVE(0, 100), SAME, 0, 0.1, 0.1, "mirostat_eta",
      "how fast it is steered")
PARAM(min_keep, WHOLE, "min_keep", NULL, NULL, FROM(0, INT32_MAX), SAME, 1, 1, 1, NULL, NULL)
