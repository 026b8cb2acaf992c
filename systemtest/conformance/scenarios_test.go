package conformance

import "slices"

// scenarios is every script. The order matters only for those that want a fresh server.
var scenarios = slices.Concat(freshCases, kvCases, formCases, registerCases, groupCases, topicCases, lifeCases, settingCases, noticeCases,
	frameCases, batchCases, nullCases, stopCases)
