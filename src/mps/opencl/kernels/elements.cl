// The element losses: l, its derivative by the prediction y and by the label t. The soft-max loss
// takes log(softmax(y)) in place of y. A term whose label factor is 0 counts as 0; NaN goes
// through, also where a comparison decides.
enum {
  kMeanAbsoluteError,
  kMeanSquaredError,
  kSoftMaxCrossEntropy,
  kSigmoidCrossEntropy,
  kCategoricalCrossEntropy,
  kHinge,
  kHuber,
  kCosineDistance,
  kLog,
  kKullbackLeibler
};

// factor * value, and 0 for a factor of 0 whatever the value is.
static float term(float factor, float value) {
  return factor == 0.0f ? 0.0f : factor * value;
}
static float positive_part(float v) {
  return v <= 0.0f ? 0.0f : v;
}
static float sign_of(float v) {
  return v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : v == 0.0f ? 0.0f : v;
}
static float sigmoid(float y) {
  const float e = exp(-fabs(y));
  return y >= 0.0f ? 1.0f / (1.0f + e) : e / (1.0f + e);
}
static float hinge_margin(float y, float t) {
  return 1.0f - (2.0f * t - 1.0f) * y;
}
// `value` where the margin counts.
static float hinge_slope(float margin, float value) {
  return margin > 0.0f ? value : margin <= 0.0f ? 0.0f : margin;
}
static float huber_slope(float d, float delta) {
  return fabs(d) <= delta ? d : delta * sign_of(d);
}

static float loss_of(Formula k, float y, float t) {
  const float smoothed = t * k.keep + k.added, d = y - t;
  switch (k.type) {
    case kMeanAbsoluteError: return fabs(d);
    case kMeanSquaredError: return d * d;
    case kSoftMaxCrossEntropy: return -term(smoothed, y);
    case kSigmoidCrossEntropy: return positive_part(y) - y * smoothed + log1p(exp(-fabs(y)));
    case kCategoricalCrossEntropy: return -term(t, log(y));
    case kHinge: return positive_part(hinge_margin(y, t));
    case kHuber:
      return fabs(d) <= k.delta ? 0.5f * d * d
                                : 0.5f * k.delta * k.delta + k.delta * (fabs(d) - k.delta);
    case kCosineDistance: return -y * t;
    case kLog:
      return -term(t, log(y + k.epsilon)) - term(1.0f - t, log((1.0f - y) + k.epsilon));
    default: return term(t, log(t) - y);
  }
}

static float by_prediction(Formula k, float y, float t) {
  const float smoothed = t * k.keep + k.added, d = y - t;
  switch (k.type) {
    case kMeanAbsoluteError: return sign_of(d);
    case kMeanSquaredError: return 2.0f * d;
    case kSoftMaxCrossEntropy: return exp(y) - smoothed;
    case kSigmoidCrossEntropy: return sigmoid(y) - smoothed;
    case kCategoricalCrossEntropy: return -term(t, 1.0f / y);
    case kHinge: return hinge_slope(hinge_margin(y, t), 1.0f - 2.0f * t);
    case kHuber: return k.as_printed && d < -k.delta ? k.delta : huber_slope(d, k.delta);
    case kCosineDistance: return -t;
    case kLog:
      return -term(t, 1.0f / (y + k.epsilon)) + term(1.0f - t, 1.0f / ((1.0f - y) + k.epsilon));
    default: return k.as_printed ? -term(t, 1.0f / y) : -t;
  }
}

static float by_label(Formula k, float y, float t) {
  const float d = y - t;
  switch (k.type) {
    case kMeanAbsoluteError: return -sign_of(d);
    case kMeanSquaredError: return -2.0f * d;
    case kSoftMaxCrossEntropy:
    case kSigmoidCrossEntropy: return -k.keep * y;
    case kCategoricalCrossEntropy: return -log(y);
    case kHinge: return hinge_slope(hinge_margin(y, t), -2.0f * y);
    case kHuber: return -huber_slope(d, k.delta);
    case kCosineDistance: return -y;
    case kLog: return log((1.0f - y) + k.epsilon) - log(y + k.epsilon);
    default: return log(t) - y + 1.0f;
  }
}
