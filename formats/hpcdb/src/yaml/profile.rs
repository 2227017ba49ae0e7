//! `profile.db`.

use std::sync::Arc;

use kymo_core::Result;

use super::Printing;
use super::out::{Remarks, float};
use crate::read::{Budget, ProfileDb};
use crate::rows;
use crate::spec::PROFILE_VALUE_BYTES;
use crate::types::Profile;

impl Printing<'_> {
    pub(super) fn profile(&mut self) -> Result<()> {
        let database = Arc::clone(self.database);
        let Some(at) = self.begin("profile", "!profile.db/v4", database.profile.is_some())? else {
            return Ok(());
        };
        let Some(file) = &database.profile else { return Ok(()) };
        self.out.line(at, "profile_infos: !profile.db/v4/ProfileInfos")?;
        self.out.list(at + 2, "profiles", "[]", file.profiles.count == 0)?;
        let (mut remarks, mut budget) = (Remarks::default(), Budget::from_part(&file.part));
        for index in 0..file.profiles.count {
            let Some(profile) = file.part.with_file(file.profile(index))? else { continue };
            let name = self.names.profile(index)?;
            let flags = if profile.is_summary { "is_summary" } else { "" };
            let remark = format!("{{{}}} [{flags}]", name.as_deref().unwrap_or("/"));
            let remark = remarks.next(&remark);
            self.out.line(at + 2, format_args!("- !profile.db/v4/Profile{remark}"))?;
            self.ids(at + 4, file, &profile, name.as_deref())?;
            self.out.line(at + 4, format_args!("flags: !profile.db/v4/Profile.Flags [{flags}]"))?;
            let records = (profile.n_values, PROFILE_VALUE_BYTES);
            let is_room = database.has_room(&file.part, &mut budget, profile.offset, records);
            let is_empty = profile.n_values == 0 || !is_room;
            self.out.list(at + 4, "values", "{}", is_empty)?;
            if !is_empty {
                self.values(at + 6, index, profile)?;
            }
            if self.out.is_done() {
                break;
            }
        }
        Ok(())
    }

    fn ids(
        &mut self,
        at: usize,
        file: &ProfileDb,
        profile: &Profile,
        name: Option<&str>,
    ) -> Result<()> {
        let Some(name) = name else { return self.out.field(at, "id_tuple", None::<&str>) };
        let remark = Remarks::default().next(name);
        self.out.line(at, format_args!("id_tuple: !profile.db/v4/IdentifierTuple{remark}"))?;
        self.out.line(at + 2, "ids:")?;
        let mut remarks = Remarks::default();
        for id in file.part.with_file(file.ids(profile))? {
            let one = crate::model::thread_of(self.database, &[id]).to_string();
            let remark = remarks.next(&one);
            self.out.line(at + 2, format_args!("- !profile.db/v4/Identifier{remark}"))?;
            self.out.field(at + 4, "kind", Some(id.kind))?;
            let flags = if id.is_physical { "is_physical" } else { "" };
            let flags = format!("!profile.db/v4/Identifier.Flags [{flags}]");
            self.out.field(at + 4, "flags", Some(flags))?;
            self.out.field(at + 4, "logical_id", Some(id.logical))?;
            self.out.field(at + 4, "physical_id", Some(id.physical))?;
        }
        Ok(())
    }

    fn values(&mut self, at: usize, index: u64, profile: Profile) -> Result<()> {
        let mut contexts = Remarks::default();
        let mut metrics = Remarks::default();
        let mut last = None;
        for row in rows::values_of(Arc::clone(self.database), index, profile) {
            if last.replace(row.context) != Some(row.context) {
                metrics = Remarks::default();
                let name = self.names.context(row.context)?;
                let remark = name.map(|name| contexts.next(&format!("for {name}")));
                let remark = remark.unwrap_or_default();
                self.out.line(at, format_args!("{}:{remark}", row.context))?;
            }
            let name = self.names.metric(row.metric, profile.is_summary);
            let remark = name.map(|name| metrics.next(&format!("for {name}"))).unwrap_or_default();
            let value = float(row.value);
            self.out.line(at + 2, format_args!("{}: {value}{remark}", row.metric))?;
            if self.out.is_done() {
                break;
            }
        }
        Ok(())
    }
}
