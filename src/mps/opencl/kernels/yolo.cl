// The YOLO loss with its gradient. One work item per anchor of a cell.
//   box   x = sigmoid(raw), width = anchor exp(raw)
//   the anchor that fits the true box best is responsible for it: XY, WH and class losses
//   confidence   towards the IOU of box and true box, or 1; towards 0 where there is no object;
//                between the two bounds on the IOU it does not count
enum { kX, kY, kWidth, kHeight, kConfidence, kClasses };

// Intervals are centre and size.
static float common_length(float2 a, float2 b) {
  const float a_low = a.x - a.y / 2.0f, b_low = b.x - b.y / 2.0f;
  const float a_high = a.x + a.y / 2.0f, b_high = b.x + b.y / 2.0f;
  const float low = a_low < b_low ? b_low : a_low, high = b_high < a_high ? b_high : a_high;
  return high > low ? high - low : 0.0f;
}

// Intersection over union with a true box b; 0 if that has no area.
static float iou_of(float2 ax, float2 ay, float2 bx, float2 by) {
  if (!(bx.y > 0.0f && by.y > 0.0f)) return 0.0f;
  const float common = common_length(ax, bx) * common_length(ay, by);
  return common / (ax.y * ay.y + bx.y * by.y - common);
}

// One anchor of a cell.
typedef struct {
  __global const uchar *source, *labels, *weights;
  __global uchar *loss, *gradient;
  ulong pixel, target;  // in the sources, and in the gradient
  ulong first;          // channel
  float2 sum;           // of the losses
} Box;

static float raw_of(const Box* box, const YoloParams* p, ulong i) {
  return load(box->source, p->source, at(p->source, box->pixel, box->first + i));
}
static float truth_of(const Box* box, const YoloParams* p, ulong i) {
  return load(box->labels, p->labels, at(p->labels, box->pixel, box->first + i));
}

static void put(Box* box, const YoloParams* p, ulong i, float loss, float gradient) {
  const ulong c = box->first + i;
  store(box->gradient, p->gradient.format, at(p->gradient, box->target, c), gradient);
  if (p->loss.exists) store(box->loss, p->loss.format, at(p->loss, box->pixel, c), loss);
  box->sum = add(box->sum, loss);
}

// Element i has the loss of `value` against `target`; `slope` is the derivative of value.
static void put_loss(Box* box, const YoloParams* p, Part part, ulong i, float scale, float value,
                     float target, float slope) {
  const float omega =
      p->weights.exists ? load(box->weights, p->weights, at(p->weights, box->pixel, box->first + i))
                        : 1.0f;
  const float factor = scale * part.factor * omega;
  put(box, p, i, term(factor, loss_of(part.formula, value, target)),
      term(factor, by_prediction(part.formula, value, target) * slope));
}

static void put_classes(Box* box, const YoloParams* p) {
  float most = -INFINITY, log_sum = 0.0f;
  if (p->categories.softmax) {
    float2 sum = (float2)(0.0f, 0.0f);
    for (ulong k = 0; k < p->classes; ++k) {
      const float raw = raw_of(box, p, kClasses + k);
      most = most < raw ? raw : most;
    }
    for (ulong k = 0; k < p->classes; ++k)
      sum = add(sum, exp(raw_of(box, p, kClasses + k) - most));
    log_sum = log(sum.x + sum.y);
  }
  for (ulong k = 0; k < p->classes; ++k) {
    const float raw = raw_of(box, p, kClasses + k);
    put_loss(box, p, p->categories, kClasses + k, 1.0f,
             p->categories.softmax ? (raw - most) - log_sum : raw,
             truth_of(box, p, kClasses + k), 1.0f);
  }
}

// Everything but the confidence, of an anchor that is responsible for an object.
static void put_object(Box* box, const YoloParams* p, float2 anchor) {
  for (ulong i = kX; i <= kY; ++i) {
    const float s = sigmoid(raw_of(box, p, i));
    put_loss(box, p, p->xy, i, 1.0f, s, truth_of(box, p, i), s * (1.0f - s));
  }
  put_loss(box, p, p->wh, kWidth, 1.0f, raw_of(box, p, kWidth),
           log(truth_of(box, p, kWidth) / anchor.x), 1.0f);
  put_loss(box, p, p->wh, kHeight, 1.0f, raw_of(box, p, kHeight),
           log(truth_of(box, p, kHeight) / anchor.y), 1.0f);
  put_classes(box, p);
}

static void put_confidence(Box* box, const YoloParams* p, float2 anchor, bool responsible) {
  const bool object = truth_of(box, p, kConfidence) > 0.0f;
  const float2 x = (float2)(sigmoid(raw_of(box, p, kX)), exp(raw_of(box, p, kWidth)) * anchor.x);
  const float2 y = (float2)(sigmoid(raw_of(box, p, kY)), exp(raw_of(box, p, kHeight)) * anchor.y);
  const float iou = iou_of(x, y, (float2)(truth_of(box, p, kX), truth_of(box, p, kWidth)),
                           (float2)(truth_of(box, p, kY), truth_of(box, p, kHeight)));
  float scale = p->scale_no_object, target = 0.0f;
  if (responsible || (object && iou > p->min_iou)) {
    scale = p->scale_object;
    target = p->rescore ? iou : 1.0f;
  } else if (object && iou >= p->max_iou) {
    scale = 0.0f;
  }
  put_loss(box, p, p->confidence, kConfidence, scale, raw_of(box, p, kConfidence), target, 1.0f);
}

// The anchor that has most in common with the true box; the first of equals.
static ulong best_anchor(Box box, const YoloParams* p, __global const float2* anchors) {
  ulong best = 0;
  float best_fit = 0.0f;
  for (ulong a = 0; a < p->anchors; ++a) {
    box.first = a * (kClasses + p->classes);
    const float2 width = (float2)(0.0f, truth_of(&box, p, kWidth));
    const float2 height = (float2)(0.0f, truth_of(&box, p, kHeight));
    const float fit = iou_of((float2)(0.0f, anchors[a].x), (float2)(0.0f, anchors[a].y), width,
                             height);
    if (a == 0 || fit > best_fit) {
      best = a;
      best_fit = fit;
    }
  }
  return best;
}

__kernel void yolo(__global const uchar* source, __global const uchar* labels,
                   __global const uchar* weights, __global const float2* anchors, YoloParams p,
                   __global uchar* loss, __global uchar* gradient, __global float2* sums) {
  const ulong i = get_global_id(0);
  if (i >= p.source.width * p.source.height * p.anchors) return;
  Box box;
  box.source = source;
  box.labels = labels;
  box.weights = weights;
  box.loss = loss;
  box.gradient = gradient;
  box.pixel = quotient(i, p.anchors);
  const ulong row = quotient(box.pixel, p.source.width);
  box.target = row * p.gradient.width + (box.pixel - row * p.source.width);
  box.sum = (float2)(0.0f, 0.0f);
  const ulong a = i - box.pixel * p.anchors, channels = kClasses + p.classes;
  box.first = a * channels;
  const bool responsible =
      truth_of(&box, &p, kConfidence) > 0.0f && a == best_anchor(box, &p, anchors);
  if (responsible) {
    put_object(&box, &p, anchors[a]);
  } else {
    for (ulong c = 0; c < channels; ++c) {
      if (c != kConfidence) put(&box, &p, c, 0.0f, 0.0f);
    }
  }
  put_confidence(&box, &p, anchors[a], responsible);
  sums[i] = box.sum;
}
