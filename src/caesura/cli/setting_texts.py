"""Help texts of the model settings: meaning, values and default."""

from __future__ import annotations

__all__ = ["TEXTS"]

TEXTS = {
    # model
    "--config": "Read settings from this TOML file; options override it. Default: no file.",
    "--model": "Choose the kind of model: semi scores segments, chain scores tokens, neural uses a "
    "network (needs torch). Default: semi.",
    "--preset": "Choose a set of features: citations, addresses, ner, chunking, words or generic. "
    "Default: generic; words for characters of text without spaces, chunking for data with a "
    "column pos.",
    "--gazetteer": "Use the names in this file, one on each line, as a dictionary. Can be "
    "repeated. Default: none.",
    "--order": "Let the score of a label depend on this many labels before it. Default: 1.",
    "--patterns": "Give weights to these label patterns, such as author>title>date, or to those "
    "that grow selects. Can be repeated. Default: all patterns of the data up to --order.",
    "--pattern-min-freq": "Ignore label patterns that occur fewer times than this. Default: 1.",
    "--max-length": "Limit segments to N tokens, for all labels or for one; observed takes the "
    "longest of the data. Can be repeated. Default: no limit.",
    "--same-label-adjacent": "Allow two adjacent segments with the same label. Default: yes.",
    "--outside": "Name the label of text outside segments, which is not returned. Default: O.",
    "--outside-length": "Treat text outside segments as one segment for each token (1) or for each "
    "run of tokens (none). Default: 1.",
    "--outside-bias": "Add this to the score of text outside segments: a positive number raises "
    "precision, a negative one recall. Default: 0.",
    "--scheme": "Choose the tags of a chain: BIO, BIOES, BCEU or another scheme, or none for plain "
    "labels. Default: that of the data.",
    "--forbid-invalid": "Choose when a chain excludes tags that its scheme does not allow: in "
    "prediction, always (also in training) or never. Default: predict.",
    # learning
    "--loss": "Choose what an error costs for learners with a margin: the number of wrong tokens "
    "(hamming), of wrong segments, or 1 for any error (zero-one); log makes eg maximise the "
    "likelihood. Default: hamming for svm, cutting-plane and eg, none for others.",
    "--pa-type": "Choose the variant of pa: 0 (PA, steps without a limit), 1 (PA-I, steps of at "
    "most --pa-c) or 2 (PA-II, steps damped by 1/(2 --pa-c)). Default: 1.",
    "--pa-c": "Limit how far one sequence moves the weights of pa. Default: 1.",
    "--pa-error-sensitive": "Set the margin of pa without --loss to the square root of the number "
    "of wrong tokens (yes) or to 1 (no). Default: yes.",
    "--average": "End sgd, perceptron and pa with the average of their weights (yes) or with the "
    "last ones (no). Default: yes.",
    "--arow-variance": "Set the initial variance of the weights of arow. Default: 1.",
    "--arow-r": "Set the regularisation of arow; larger values make each step smaller. Default: 1.",
    "--beam": "Search with a beam of this size, with --learner perceptron; the preset words then "
    "also uses whole words and pairs of words. Default: exact search.",
    "--update": "Choose the prefix that a perceptron with a beam learns from: where the gold "
    "answer is furthest behind (max-violation), where it leaves the beam (early), or the whole "
    "sequence (standard). Default: max-violation.",
    "--c1": "Penalise the sum of absolute weights by this factor. Default: 0.",
    "--c2": "Penalise the sum of squared weights by this factor. Default: 0.01.",
    "--penalty": "Set the penalty of one feature: NAME=C2 or NAME=C1,C2. Can be repeated. Default: "
    "--c1 and --c2.",
    "--class-weight": "Let errors on a label count N times. Can be repeated. Default: 1 for all.",
    "--max-iterations": "Stop after this many iterations, or passes over the data. Default: none "
    "for lbfgs; 100 for sgd, adagrad, perceptron, pa and arow (10 for a perceptron with --beam); "
    "300 for svm and eg; 1,000 for cutting-plane.",
    "--patience": "Stop after this many iterations without a better score on the development data. "
    "Default: never.",
    "--precision": "Choose the arithmetic: mixed starts in single precision, which is faster, and "
    "ends in double; auto uses it where it is safe. Default: auto.",
    "--memory": "Let L-BFGS remember this many steps. Default: 12, or 20 for models "
    "with 100,000 weights or more.",
    "--epsilon": "Stop when the gradient is this small relative to the weights. Default: 1e-5.",
    "--period": "Compare the objective with that of this many iterations ago. Default: 10.",
    "--delta": "Stop when the objective has improved by less than this share within --period. "
    "Default: 1e-5 for lbfgs, 1e-3 for svm, cutting-plane and eg, 1e-4 for others.",
    "--batch-size": "Use this many sequences in a step of sgd, adagrad and neural. Default: 8.",
    "--stream": "Read the file again for each pass and keep only a part of it in memory; for sgd, "
    "adagrad, perceptron, pa and arow. Default: off.",
    "--max-attributes": "Keep only the first N distinct attributes (such as word[0]=Leeds) that "
    "occur in the training data. Default: all of them.",
    "--standardise": "Scale numeric columns to mean 0 and standard deviation 1. Default: off.",
    "--seed": "Set the seed of the random number generator. Default: 0.",
    "--threads": "Use this many threads. Default: all cores.",
    "--min-freq": "Ignore pairs of an attribute (such as word[0]=Leeds) and a label that occur "
    "fewer times than this. Default: 0.",
    "--all-possible-states": "Also give weights to pairs of an attribute (such as word[0]=Leeds) "
    "and a label that do not occur together in the training data. Default: no.",
    "--all-possible-transitions": "Also give weights to pairs of labels that are not adjacent "
    "anywhere in the training data. Default: yes.",
    "--boundary-weights": "Give weights to the first and the last label. Default: yes.",
    # network
    "--network": "Choose the model on top of the network. chain: a CRF over tags; semi: a semi-CRF "
    "with learnt segment vectors; overlapping: a semi-CRF without a limit on segment length; "
    "filtered: a semi-CRF over the spans that a classifier keeps. Default: chain.",
    "--transformer": "Use the vectors of this Hugging Face transformer, a name or a folder. "
    "Default: none.",
    "--frozen": "Keep the weights of the transformer as they are. Default: no.",
    "--vectors": "Read static word vectors from this file, a word and its numbers on each line. "
    "Default: none.",
    "--context": "Choose the contextual encoder over token vectors: lstm, cnn or none. Default: "
    "lstm.",
    "--hidden": "Set the hidden size of the contextual encoder in each direction. Default: 100.",
    "--word-size": "Set the size of word embeddings; 0 leaves them out. Default: 50.",
    "--characters": "Choose the encoder that computes word vectors from characters: cnn, lstm or "
    "none. Default: cnn.",
    "--character-size": "Set the size of character embeddings. Default: 25.",
    "--shape-size": "Set the size of embeddings of word shapes. Default: 10.",
    "--dropout": "Drop entries of vectors in training with this probability. Default: 0.3.",
    "--representation": "Choose how vectors of segments are made: sum, sum_ends, max, endpoints, "
    "marker, query, mlp, conv, conv_share, conv_max, conv_mean or conv_sum; sum_ends adds "
    "projections of the first and last token and of the width; see docs/neural.md. Default: "
    "sum_ends.",
    "--hybrid": "Also train a chain on the same network, and add its loss times this number. "
    "Default: 0.",
    "--transitions": "Learn scores of label transitions. Default: yes.",
    "--null-weight": "Weight spans without a label by this number, 0 to 1, in the loss of the "
    "classifier that selects spans (--network filtered). Default: 0.4.",
    "--global-loss": "Also train the global model over segmentations (--network filtered); without "
    "it, only the local scores of spans are trained. Default: yes.",
    "--one-score": "Give a span the same global score for every label (--network filtered). "
    "Default: no.",
    "--decoder": "Choose how spans are selected (--network filtered). global: the best path; "
    "greedy: the best local scores that do not overlap; mean: the path with the best mean score. "
    "Default: greedy without --global-loss, else global.",
    "--epochs": "Set the number of passes over the data. Default: 20.",
    "--rate": "Set the learning rate. Default: 0.001.",
    "--encoder-rate": "Set the learning rate of the transformer. Default: 2e-5.",
    "--warm-up": "Let the learning rates rise during this share of all steps. Default: 0.1.",
    "--clip": "Limit the norm of gradients; 0 means no limit. Default: 5.",
    "--weight-decay": "Set the weight decay of AdamW. Default: 0.",
    "--device": "Choose the torch device, such as cpu or cuda. Default: cpu.",
}
