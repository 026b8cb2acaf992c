package main

import (
	"context"

	"namesrv/admin"
	"namesrv/cluster"
)

func (v *clusterView) ClientAddresses() []string { return v.node.ClientAddresses() }

func (v *clusterView) Join(ctx context.Context, req admin.JoinRequest) (admin.Change, error) {
	done, err := v.node.Join(ctx, cluster.JoinRequest{Node: req.ID, Address: req.Address, Replace: req.Replace})
	return changeOf(done, err)
}

func (v *clusterView) Remove(ctx context.Context, id string, force bool) (admin.Change, error) {
	done, err := v.node.Remove(ctx, id, force)
	return changeOf(done, err)
}

func (v *clusterView) Transfer(ctx context.Context, id string) (admin.Change, error) {
	done, err := v.node.Transfer(ctx, id)
	return changeOf(done, err)
}

func changeOf(r cluster.MemberResult, err error) (admin.Change, error) {
	if err != nil {
		return admin.Change{}, translate(err)
	}
	c := admin.Change{ID: r.Node, Member: r.Member, Outcome: r.Outcome, Reachable: r.Reachable, Warnings: r.Warnings,
		VotersBefore: r.VotersBefore, VotersAfter: r.VotersAfter}
	if r.VotersBefore > 0 {
		c.MajorityBefore, c.MajorityAfter = r.VotersBefore/2+1, r.VotersAfter/2+1
	}
	return c, nil
}
