import { z } from "zod";
import { isLabelKey, isLabelValue } from "../../agent/api/kubernetes-names.js";
import { messageOf } from "../../agent/runtime/kube-error.js";
import { QUALIFIED_NAME } from "./formats.js";

/** What this package, or Kubernetes for it, goes by: not for users to set. */
const RESERVED = /^([^/]*\.)?(liqo\.io|pulumi-liqo|pod-security\.kubernetes\.io|app\.kubernetes\.io)\//;

/** @throws Error saying what is wrong with a label's or annotation's key */
function checkKey(key: string): void {
  if (!isLabelKey(key)) throw new Error(`is not a key: ${QUALIFIED_NAME}`);
}

/** @throws Error also for keys that are not for users to set */
function checkChosenKey(key: string): void {
  checkKey(key);
  if (RESERVED.test(key)) throw new Error("is set by this package itself: choose a key of your own domain");
}

const keyBy = (check: (key: string) => void) =>
  z.string().superRefine((value, context) => {
    try {
      check(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: messageOf(error) });
    }
  });

const key = keyBy(checkChosenKey);

export const labelValue = z.string().superRefine((value, context) => {
  if (isLabelValue(value)) return;
  context.addIssue({
    code: "custom",
    message:
      'is not the value of a label: at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit',
  });
});

/** Labels, also well-known ones: of nodes, of Services. */
export const labelMap = z.record(keyBy(checkKey), labelValue);

/** Annotations, likewise. */
export const annotationMap = z.record(keyBy(checkKey), z.string());

/** Labels that users choose for objects. */
export const chosenLabels = z.record(key, labelValue);

/** Annotations that users choose for objects. */
export const chosenAnnotations = z.record(key, z.string());

/** Labels and annotations for all objects of a resource; the provider's own lie beneath them. */
export const objectMetadata = {
  objectLabels: chosenLabels.default({}).meta({
    description:
      "Labels for every object that is created for this resource in the clusters, beside the provider's globalLabels. Default: none.",
    beneath: "globalLabels",
  }),
  objectAnnotations: chosenAnnotations.default({}).meta({
    description:
      "Annotations for every object that is created for this resource in the clusters, beside the provider's globalAnnotations. Default: none.",
    beneath: "globalAnnotations",
  }),
};

export interface ObjectMetadata {
  objectLabels: Record<string, string>;
  objectAnnotations: Record<string, string>;
}
